//! SQLite behind r2d2: what a crate for both would do in forty lines.

use rusqlite::Connection;
use std::path::PathBuf;

/// Makes connections to one database in a file.
pub struct Manager(pub PathBuf);

impl r2d2::ManageConnection for Manager {
    type Connection = Connection;
    type Error = rusqlite::Error;

    fn connect(&self) -> Result<Connection, rusqlite::Error> {
        let connection = Connection::open(&self.0)?;
        connection.busy_timeout(std::time::Duration::from_secs(20))?;
        connection.execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF;")?;
        Ok(connection)
    }

    fn is_valid(&self, connection: &mut Connection) -> Result<(), rusqlite::Error> {
        connection.execute_batch("SELECT 1;")
    }

    fn has_broken(&self, _: &mut Connection) -> bool {
        false
    }
}

pub type Pool = r2d2::Pool<Manager>;

pub const ITEMS: u32 = 200;

/// A pool of connections to a new database with [`ITEMS`] items.
pub fn open() -> Pool {
    let file = std::env::temp_dir().join(format!("service-{}.sqlite", std::process::id()));
    for suffix in ["", "-wal", "-shm"] {
        let _ = std::fs::remove_file(format!("{}{suffix}", file.display()));
    }
    let pool = r2d2::Pool::builder()
        .max_size(4)
        .build(Manager(file))
        .expect("SQLite opens a file");
    let mut connection = pool.get().expect("there are connections");
    let all = connection.transaction().expect("nobody else writes");
    all.execute_batch(
        "CREATE TABLE items (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
         CREATE TABLE orders (number INTEGER PRIMARY KEY, item INTEGER NOT NULL);",
    )
    .expect("the tables are new");
    for id in 0..ITEMS {
        let name = format!("item {id}");
        all.execute("INSERT INTO items VALUES (?1, ?2)", (id, name))
            .expect("the item is new");
    }
    all.commit().expect("nobody else writes");
    pool
}
