//! The load: clients that speak HTTP over connections of their own, each to its end, so that all is counted.

use crate::database::ITEMS;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;

const CLIENTS: u32 = 8;
const LONG: Duration = Duration::from_secs(120);

/// What the load has asked for, and been answered.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counted {
    pub items: u64,
    pub orders: u64,
    pub notices: u64,
    pub totals: u64,
    /// The highest number of an order, and of a notice, that was answered.
    pub last_order: u64,
    pub last_notice: u64,
}

/// So many requests in all.
pub async fn run(address: SocketAddr, requests: u32) -> Counted {
    let clients: Vec<_> = (0..CLIENTS)
        .map(|number| tokio::spawn(client(address, number, requests / CLIENTS)))
        .collect();
    let mut sum = Counted::default();
    for client in clients {
        let client = tokio::time::timeout(LONG, client).await;
        let one = client
            .expect("the service is stuck")
            .expect("a client has failed");
        sum = Counted {
            items: sum.items + one.items,
            orders: sum.orders + one.orders,
            notices: sum.notices + one.notices,
            totals: sum.totals + one.totals,
            last_order: sum.last_order.max(one.last_order),
            last_notice: sum.last_notice.max(one.last_notice),
        };
    }
    sum
}

async fn client(address: SocketAddr, number: u32, requests: u32) -> Counted {
    let stream = TcpStream::connect(address)
        .await
        .expect("the service listens");
    let mut stream = BufReader::new(stream);
    let mut counted = Counted::default();
    for i in 0..requests {
        // Any order of items, each run the same.
        let item = (i.wrapping_mul(2_654_435_761) >> 8).wrapping_add(number * 31) % ITEMS;
        match i % 8 {
            0 | 3 => {
                let answer = ask(&mut stream, "POST", &format!("/order/{item}")).await;
                counted.orders += 1;
                counted.last_order = counted.last_order.max(answer.parse().expect("a number"));
            }
            1 => {
                let answer = ask(&mut stream, "POST", &format!("/notify/{item}")).await;
                counted.notices += 1;
                counted.last_notice = counted.last_notice.max(answer.parse().expect("a number"));
            }
            2 => {
                let answer = ask(&mut stream, "GET", "/total").await;
                assert!(answer.parse::<u64>().is_ok(), "{answer}");
                counted.totals += 1;
            }
            _ => {
                let answer = ask(&mut stream, "GET", &format!("/item/{item}")).await;
                assert_eq!(answer, format!("item {item}"));
                counted.items += 1;
            }
        }
    }
    counted
}

/// The body of the answer, which is 200.
async fn ask(stream: &mut BufReader<TcpStream>, method: &str, path: &str) -> String {
    let head = format!("{method} {path} HTTP/1.1\r\nhost: shop\r\ncontent-length: 0\r\n\r\n");
    stream
        .get_mut()
        .write_all(head.as_bytes())
        .await
        .expect("the service reads");
    let mut line = String::new();
    stream
        .read_line(&mut line)
        .await
        .expect("the service answers");
    assert!(line.starts_with("HTTP/1.1 200 "), "{method} {path}: {line}");
    let mut length = 0;
    loop {
        line.clear();
        stream.read_line(&mut line).await.expect("the head goes on");
        let Some((name, value)) = line.split_once(':') else {
            break;
        };
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse().expect("a length");
        }
    }
    let mut body = vec![0; length];
    stream
        .read_exact(&mut body)
        .await
        .expect("the body is as long as it says");
    String::from_utf8(body).expect("text")
}
