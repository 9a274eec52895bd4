//! What some pages have beside them, because the pages themselves have no room left.

use super::log::Page;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

const PART: usize = 512;
type Part<T> = [AtomicPtr<T>; PART];

/// By the number of the page what it has. Nothing is freed. Pages beyond the first 2^18 have none.
pub(super) struct Beside<T: 'static> {
    parts: [AtomicPtr<Part<T>>; PART],
}

impl<T: Sync + 'static> Beside<T> {
    pub(super) const fn new() -> Self {
        Beside {
            parts: [const { AtomicPtr::new(ptr::null_mut()) }; PART],
        }
    }

    fn place(&self, page: &Page) -> Option<&AtomicPtr<T>> {
        let number = page.owner.number() as usize;
        let part = self.parts.get(number / PART)?;
        // SAFETY: null, or made by `make` and never freed. Acquire: pairs with the exchange there.
        let part = unsafe { part.load(Ordering::Acquire).as_ref() }?;
        Some(&part[number % PART])
    }

    /// What the page has, if it has any.
    pub(super) fn get(&self, page: &Page) -> Option<&'static T> {
        // SAFETY: null, or made by `make` and never freed. Acquire: pairs with the store there.
        unsafe { self.place(page)?.load(Ordering::Acquire).as_ref() }
    }

    /// Gives the page what it has not had. May allocate: before an attempt. For the owner of the page. Where
    /// there is no room for it, nothing is given.
    #[cold]
    pub(super) fn make(&self, page: &Page, new: impl FnOnce() -> T) {
        let number = page.owner.number() as usize;
        let Some(part) = self.parts.get(number / PART) else {
            return;
        };
        if part.load(Ordering::Acquire).is_null() {
            let new: Box<Part<T>> = Box::new([const { AtomicPtr::new(ptr::null_mut()) }; PART]);
            let new = Box::into_raw(new);
            // Release: who finds it finds it complete.
            let old =
                part.compare_exchange(ptr::null_mut(), new, Ordering::AcqRel, Ordering::Acquire);
            if old.is_err() {
                // SAFETY: made above, and nobody else has it.
                drop(unsafe { Box::from_raw(new) });
            }
        }
        if let Some(place) = self.place(page) {
            // Release, as above. The owner of the page is the only one who makes it.
            place.store(Box::into_raw(Box::new(new())), Ordering::Release);
        }
    }
}
