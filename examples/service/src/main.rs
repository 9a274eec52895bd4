//! A shop's backend whose locks are other people's: axum on tokio, connections to SQLite from r2d2, a cache from
//! moka, and state of its own behind a mutex of std's interface and one of tokio's. It loads itself, prints one
//! report for all of them, and checks it against what the load has counted.
//!
//!     cargo run --release [-- REQUESTS]
//!
//! Two mistakes are planted, and the report has to name them: an order holds the ledger while it writes to the
//! database, and a notice holds the outbox while it is sent.

mod check;
mod database;
mod load;
mod state;

use axum::Router;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::routing::{get, post};
use instrumented_lock::registry;
use state::Shop;
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio::task::spawn_blocking;

async fn item(State(shop): State<Arc<Shop>>, Path(id): Path<u32>) -> Result<String, StatusCode> {
    let name = spawn_blocking(move || shop.item(id)).await;
    name.ok().flatten().ok_or(StatusCode::NOT_FOUND)
}

async fn order(State(shop): State<Arc<Shop>>, Path(id): Path<u32>) -> Result<String, StatusCode> {
    let number = spawn_blocking(move || shop.order(id)).await;
    let number = number.map_err(|_| StatusCode::INTERNAL_SERVER_ERROR)?;
    Ok(number.to_string())
}

async fn notify(State(shop): State<Arc<Shop>>, Path(id): Path<u32>) -> String {
    shop.notify(id).await.to_string()
}

async fn total(State(shop): State<Arc<Shop>>) -> String {
    shop.total().to_string()
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    let requests = std::env::args().nth(1).map_or(1_000, |number| {
        number.parse().expect("REQUESTS is a number")
    });
    let shop = Arc::new(Shop::open());
    let routes = Router::new()
        .route("/item/{id}", get(item))
        .route("/order/{id}", post(order))
        .route("/notify/{id}", post(notify))
        .route("/total", get(total))
        .with_state(Arc::clone(&shop));
    let listener = TcpListener::bind("127.0.0.1:0")
        .await
        .expect("a port is free");
    let address = listener.local_addr().expect("it is bound");
    let server = tokio::spawn(async move { axum::serve(listener, routes).await });

    let before = registry::snapshot();
    let counted = load::run(address, requests).await;
    let snapshot = registry::snapshot().since(&before);
    server.abort();

    println!("{snapshot}");
    println!("by crate:");
    for of_crate in snapshot.by_crate() {
        println!("  {of_crate}");
    }
    for advice in snapshot.advice() {
        println!("\n{advice}");
    }
    println!("\n{counted:?}");
    check::all(&snapshot, &counted);
}
