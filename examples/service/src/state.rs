//! What the service keeps: a ledger behind a mutex of std's interface, an outbox behind one of tokio's, a cache
//! of moka's and connections of r2d2's.

use crate::database::{self, Pool};
use instrumented_lock::instrumented;
use instrumented_lock::std_sync::annotated::{Mutex, PoisonError};
use instrumented_lock::tokio::annotated as tokio_locks;
use moka::sync::Cache;
use std::time::Duration;

/// How long it takes to hand a notice on.
const SENDING: Duration = Duration::from_millis(1);

#[instrumented(prefix = "shop")]
pub struct Shop {
    /// How many orders there are.
    ledger: Mutex<u64>,
    /// How many notices have been sent.
    outbox: tokio_locks::Mutex<u64>,
    #[lock(skip)]
    items: Cache<u32, String>,
    #[lock(skip)]
    pool: Pool,
}

/// The line that takes the ledger for an order, and the one that takes the outbox for a notice.
pub const PLANTED: [(&str, u32); 2] = [("shop::Shop::ledger", 53), ("shop::Shop::outbox", 70)];

impl Shop {
    pub fn open() -> Self {
        Shop {
            ledger: Mutex::new(0),
            outbox: tokio_locks::Mutex::new(0),
            // A quarter of the items.
            items: Cache::new(u64::from(database::ITEMS / 4)),
            pool: database::open(),
        }
    }

    /// The name of an item, from the cache or the database.
    pub fn item(&self, id: u32) -> Option<String> {
        self.items.optionally_get_with(id, || {
            let connection = self.pool.get().ok()?;
            let name = "SELECT name FROM items WHERE id = ?1";
            connection.query_row(name, [id], |row| row.get(0)).ok()
        })
    }

    /// Writes an order into the database and returns its number.
    pub fn order(&self, item: u32) -> u64 {
        let connection = self.pool.get().expect("there are connections");
        // Planted: the mutex is held over the query.
        let mut ledger = self.ledger.lock().unwrap_or_else(PoisonError::into_inner);
        let number = *ledger + 1;
        connection
            .execute("INSERT INTO orders VALUES (?1, ?2)", (number, item))
            .expect("the number is new");
        let ranks = "SELECT count(*) FROM items a JOIN items b ON a.name < b.name";
        let ranked: u32 = connection
            .query_row(ranks, [], |row| row.get(0))
            .expect("there are items");
        assert!(ranked > 0);
        *ledger = number;
        number
    }

    /// Sends a notice and returns its number.
    pub async fn notify(&self, _item: u32) -> u64 {
        // Planted: the mutex is held over an `.await`.
        let mut outbox = self.outbox.lock().await;
        tokio::time::sleep(SENDING).await;
        *outbox += 1;
        *outbox
    }

    /// How many orders there are.
    pub fn total(&self) -> u64 {
        *self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
