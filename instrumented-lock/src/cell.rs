//! Which class a lock belongs to, and whether anybody waits for it, in one word.

use crate::brief::Inside;
use crate::class::{Declaration, LockClass};
use crate::classes;
use crate::lock_kind::LockKind;
use crate::stats::{self, Watch};
use std::cell::Cell;
use std::marker::PhantomData;
use std::panic::Location;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

thread_local! {
    /// A lock whose class this thread is looking for, and how often an allocator has used the lock meanwhile.
    static UNRESOLVED: Cell<(usize, u64)> = const { Cell::new((0, 0)) };
}

/// What a lock knows of itself.
///
/// | low bits | the rest of the word |
/// |---|---|
/// | `DECLARED` | a [`Declaration`]; this lock has not been used yet |
/// | `SITE` | the [`Location`] of the creation; this lock has not been used yet |
/// | `NAMED` | the [`LockClass`] of an explicit name; this lock has not been used yet |
/// | none | a [`LockClass`]; the lock counts among its instances |
/// | `WATCHED` | a [`Watch`], which knows the class: the lock is waited for, or was a moment ago |
///
/// The first use leads from the first three to the fourth; a waiter from there to the fifth, and a holder
/// back.
pub(crate) struct ClassCell {
    word: AtomicPtr<()>,
    /// What the word points to is shared and never freed.
    points_to: PhantomData<&'static (Declaration, Location<'static>, LockClass, Watch)>,
}

const DECLARED: usize = 1;
const SITE: usize = 2;
/// Both of these together.
const NAMED: usize = DECLARED | SITE;
const WATCHED: usize = 4;
const TAGS: usize = DECLARED | SITE | WATCHED;
const _: () = assert!(align_of::<Declaration>() > TAGS && align_of::<Location<'static>>() > TAGS);
const _: () = assert!(align_of::<LockClass>() > TAGS && align_of::<Watch>() > TAGS);

impl ClassCell {
    pub(crate) const fn declared(declaration: &'static Declaration) -> Self {
        let declaration = ptr::from_ref(declaration).cast_mut().cast::<()>();
        Self::from_word(declaration.wrapping_byte_add(DECLARED))
    }

    pub(crate) const fn site(location: &'static Location<'static>) -> Self {
        let location = ptr::from_ref(location).cast_mut().cast::<()>();
        Self::from_word(location.wrapping_byte_add(SITE))
    }

    pub(crate) fn named(class: &'static LockClass) -> Self {
        let class = ptr::from_ref(class).cast_mut().cast::<()>();
        Self::from_word(class.wrapping_byte_add(NAMED))
    }

    const fn from_word(word: *mut ()) -> Self {
        ClassCell {
            word: AtomicPtr::new(word),
            points_to: PhantomData,
        }
    }

    #[inline(always)]
    fn word(&self) -> *mut () {
        // Acquire: pairs with the exchanges and stores below; what the word points to is complete.
        self.word.load(Ordering::Acquire)
    }

    /// The class, where this lock has been used before and nobody waits for it.
    #[inline(always)]
    pub(crate) fn unwatched(&self) -> Option<&'static LockClass> {
        let word = self.word();
        if word.addr() & TAGS != 0 {
            return None;
        }
        // SAFETY: without a tag the word is a `&'static LockClass`, by the table above.
        Some(unsafe { &*word.cast::<LockClass>() })
    }

    /// Whether the lock has a watch.
    #[inline(always)]
    pub(crate) fn is_watched(&self) -> bool {
        self.word().addr() & WATCHED != 0
    }

    /// The watch, for a holder of the lock or somebody who then looks again.
    pub(crate) fn watch(&self) -> Option<&'static Watch> {
        watch_of(self.word())
    }

    /// The class, where this lock has been used before.
    #[inline]
    pub(crate) fn resolved(&self) -> Option<&'static LockClass> {
        self.unwatched().or_else(|| self.watched_class())
    }

    fn watched_class(&self) -> Option<&'static LockClass> {
        loop {
            let word = self.word();
            let Some(watch) = watch_of(word) else {
                if word.addr() & TAGS != 0 {
                    return None;
                }
                // SAFETY: without a tag the word is a `&'static LockClass`.
                return Some(unsafe { &*word.cast::<LockClass>() });
            };
            let class = watch.class();
            // Otherwise it may be another lock's by now.
            if self.word() == word {
                let class = ptr::with_exposed_provenance::<LockClass>(class);
                // SAFETY: `wait` has prepared the watch with the address of a `&'static LockClass`.
                return Some(unsafe { &*class });
            }
        }
    }

    /// The class; the first use of a lock finds it, enrols it and counts the lock.
    #[inline]
    pub(crate) fn class(&self, kind: LockKind) -> &'static LockClass {
        match self.resolved() {
            Some(class) => class,
            None => self.resolve(kind, true),
        }
    }

    /// The class, for what belongs to a lock that counts itself.
    #[inline]
    pub(crate) fn class_uncounted(&self, kind: LockKind) -> &'static LockClass {
        match self.resolved() {
            Some(class) => class,
            None => self.resolve(kind, false),
        }
    }

    /// The same where the word is not that of a class.
    #[inline(never)]
    fn resolve(&self, kind: LockKind, counts: bool) -> &'static LockClass {
        let _inside = Inside::enter();
        let word = self.word();
        let target = word.map_addr(|addr| addr & !TAGS);
        let class = match word.addr() & TAGS {
            SITE => {
                // SAFETY: `site` made the word from a `&'static Location`.
                let location = unsafe { &*target.cast::<Location<'static>>() };
                classes::of_site(location, kind)
            }
            DECLARED => {
                // SAFETY: `declared` made the word from a `&'static Declaration`.
                let declaration = unsafe { &*target.cast::<Declaration>() };
                classes::of_declaration(declaration)
            }
            // SAFETY: `named` made the word from a `&'static LockClass`.
            NAMED => unsafe { &*target.cast::<LockClass>() },
            WATCHED => {
                let class = self.watched_class();
                return class.unwrap_or_else(|| self.resolve(kind, counts));
            }
            // Somebody else has been faster.
            _ => return self.class(kind),
        };
        class.first_use(kind);
        let resolved = ptr::from_ref(class).cast_mut().cast::<()>();
        // Release: whoever reads the bare word sees the class complete. Of two threads that use a
        // new lock at the same time, one counts it.
        let first =
            self.word
                .compare_exchange(word, resolved, Ordering::Release, Ordering::Relaxed);
        if counts && first.is_ok() {
            class.stats.add_instance();
        }
        let (cell, count) = UNRESOLVED.get();
        if cell == ptr::from_ref(self).addr() {
            UNRESOLVED.set((0, 0));
            class.stats.unmatched(count);
        }
        class
    }

    /// Counts a release of what was acquired and not observed.
    #[cold]
    pub(crate) fn unmatched(&self) {
        match self.resolved() {
            Some(class) if class.state().is_on() => class.stats.unmatched(1),
            Some(_) => {}
            None => {
                let cell = ptr::from_ref(self).addr();
                let (known, count) = UNRESOLVED.get();
                UNRESOLVED.set((cell, if known == cell { count + 1 } else { 1 }));
            }
        }
    }

    /// The watch of this lock of `class`, with the caller counted as a waiter; the first waiter gives it
    /// one. Before it waits, since it may allocate.
    pub(crate) fn wait(&self, class: &'static LockClass) -> &'static Watch {
        loop {
            let word = self.word();
            if let Some(watch) = watch_of(word) {
                if watch.join() {
                    if self.word() == word {
                        return watch;
                    }
                    watch.leave(0);
                }
                // A holder is about to take it away.
                std::hint::spin_loop();
                continue;
            }
            let watch = stats::take();
            watch.prepare(ptr::from_ref(class).expose_provenance());
            let watched = ptr::from_ref(watch).cast_mut().cast::<()>();
            let watched = watched.map_addr(|addr| addr | WATCHED);
            // Release: who finds the watch finds it prepared.
            let given =
                self.word
                    .compare_exchange(word, watched, Ordering::AcqRel, Ordering::Relaxed);
            if given.is_ok() {
                return watch;
            }
            watch.unprepare();
            stats::give_back(watch);
        }
    }

    /// Takes away the watch, which has been retired. For the holder who has retired it.
    pub(crate) fn unwatch(&self, watch: &Watch) {
        let class = ptr::with_exposed_provenance_mut(watch.class());
        // Release: as in `resolve`.
        self.word.store(class, Ordering::Release);
    }

    /// The lock is dropped: nobody uses it, or its watch, any more.
    #[inline]
    pub(crate) fn drop_instance(&mut self) {
        if let Some(class) = self.unwatched() {
            class.stats.remove_instance();
        } else if self.is_watched() {
            self.abandon();
        }
    }

    #[cold]
    fn abandon(&self) {
        if let Some(class) = self.watched_class() {
            class.stats.remove_instance();
        }
        // Not where a guard has been forgotten whose hold has been told: then it stays with nobody.
        if let Some(watch) = self.watch()
            && watch.retire(true)
        {
            stats::give_back(watch);
        }
    }
}

fn watch_of(word: *mut ()) -> Option<&'static Watch> {
    let watch = word.map_addr(|addr| addr & !TAGS).cast::<Watch>();
    // SAFETY: with this tag the word is a `&'static Watch`, by the table above.
    (word.addr() & WATCHED != 0).then(|| unsafe { &*watch })
}
