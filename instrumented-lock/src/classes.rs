//! The table of all lock classes of the process.
//!
//! Declarations come from `inventory` at link time, so declared classes are listed before their first
//! use. The first use of a lock also makes its class, because a linked crate that nobody names can
//! lose its link-time registrations. Locks that nobody annotated have one by their creation site: that of the
//! field they become, where the code that makes them is annotated.
//!
//! Nothing here runs while a lock of the user's is taken, except at the first use of an inner lock.

use crate::brief::{self, Inside};
use crate::class::{self, Declaration, Declarations, LockClass};
use crate::clock;
use crate::fork::{self, Hooks, Whose};
use crate::lock_kind::LockKind;
use crate::makers;
use crate::place::{self, Place};
use crate::settings;
use crate::stats::{is_nobodys, without_machine};
use parking_lot::{Mutex, MutexGuard};
use std::collections::BTreeMap;
use std::mem;
use std::panic::Location;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

static TABLE: Mutex<Table> = Mutex::new(Table {
    classes: Vec::new(),
    sites: BTreeMap::new(),
    names: BTreeMap::new(),
    copies: BTreeMap::new(),
    declarations_listed: false,
});

struct Table {
    classes: Vec<&'static LockClass>,
    /// One class for a place in the source, however many copies of the [`Location`] there are.
    sites: BTreeMap<&'static Location<'static>, &'static LockClass>,
    /// Those of explicit names that no declaration has.
    names: BTreeMap<&'static str, &'static LockClass>,
    /// By the address of each copy.
    copies: BTreeMap<usize, &'static CreationSite>,
    declarations_listed: bool,
}

/// One copy of the place where locks are created, and their class.
struct CreationSite {
    location: &'static Location<'static>,
    class: &'static LockClass,
}

/// Creation sites that were looked for last, by their address: where many locks are created at a few
/// places, each finds its class here.
static RECENT: [AtomicPtr<CreationSite>; 256] = [const { AtomicPtr::new(ptr::null_mut()) }; 256];

/// Nobody finds, makes or changes a class while all of these are locked.
const AT_FORK: Hooks = Hooks {
    before: || {
        let table = mem::ManuallyDrop::new(brief::lock(&TABLE));
        table.classes.iter().for_each(|class| class.hold_settings());
    },
    after: |_| {
        // SAFETY: `before` has locked it and forgotten the guard, on this thread.
        let table = unsafe { TABLE.make_guard_unchecked(brief::state()) };
        for class in &table.classes {
            // SAFETY: `before` has called `hold_settings`, on this thread.
            unsafe { class.let_go_of_settings() };
        }
    },
};

fn table() -> MutexGuard<'static, Table> {
    fork::call(Whose::Classes, AT_FORK);
    clock::on_change(apply_settings);
    brief::lock(&TABLE)
}

impl Table {
    /// Lists a new class, which lives as long as the process.
    fn enrol(&mut self, class: LockClass) -> &'static LockClass {
        let class: &'static LockClass = Box::leak(Box::new(class));
        self.classes.push(class);
        class
    }

    fn of_declaration(&mut self, declaration: &Declaration) -> &'static LockClass {
        declaration.class.get_or_init(|| {
            // A library may be loaded after its name was used.
            let known = self.names.get(declaration.name).copied();
            let class = known.unwrap_or_else(|| {
                self.enrol(LockClass::new(
                    declaration.name,
                    declaration.kind,
                    declaration.declared_at,
                    declaration.rank,
                ))
            });
            if let Some(reason) = declaration.nested {
                class.allow_nesting(reason);
            }
            class
        })
    }

    fn of_name(
        &mut self,
        name: &str,
        kind: LockKind,
        location: &'static Location<'static>,
    ) -> &'static LockClass {
        if let Some(class) = self.names.get(name) {
            return class;
        }
        let mut declarations = class::declarations();
        if let Some(declaration) = declarations.find(|declaration| declaration.name == name) {
            return self.of_declaration(declaration);
        }
        let name = &*name.to_owned().leak();
        let class = self.enrol(LockClass::new(name, kind, location, None));
        self.names.insert(name, class);
        class
    }

    fn of_site(
        &mut self,
        location: &'static Location<'static>,
        kind: LockKind,
    ) -> &'static CreationSite {
        let copy = ptr::from_ref(location).addr();
        if let Some(site) = self.copies.get(&copy) {
            return site;
        }
        let class = self.sites.get(location).copied().unwrap_or_else(|| {
            let class = self.of_new_site(location, kind);
            self.sites.insert(location, class);
            class
        });
        let site = Box::leak(Box::new(CreationSite { location, class }));
        self.copies.insert(copy, site);
        site
    }

    fn of_new_site(
        &mut self,
        location: &'static Location<'static>,
        kind: LockKind,
    ) -> &'static LockClass {
        if let Some(place) = place::declared(location) {
            return self.of_place(&place, kind, location);
        }
        let find = |name: &str| self.classes.iter().find(|class| class.name() == name);
        let file = without_machine(location.file());
        let mut name = location.to_string();
        if is_nobodys(location.file()) {
            // All that there is to tell apart.
            name = format!("({kind} created at an unknown line)");
            if let Some(class) = find(&name) {
                return class;
            }
        } else if file.len() < location.file().len() {
            name = format!("{file}:{}", location.line());
            if find(&name).is_some() {
                name = format!("{name}:{}", location.column());
            }
        }
        let name = Box::leak(name.into_boxed_str());
        self.enrol(LockClass::new(name, kind, location, None))
    }

    /// The class of the field that the locks of a place become.
    fn of_place(
        &mut self,
        place: &Place,
        kind: LockKind,
        location: &'static Location<'static>,
    ) -> &'static LockClass {
        if let Some(declaration) = place.declaration() {
            return self.of_declaration(declaration);
        }
        let name = place.name();
        let class = self.of_name(&name, kind, location);
        if class.kind() == kind || class.kind() == LockKind::Unknown {
            return class;
        }
        // Two variables of one function have one name, and are locks of different kinds.
        self.of_name(&format!("{name} ({kind})"), kind, location)
    }

    fn enrol_declarations(&mut self) {
        if !self.declarations_listed {
            self.declarations_listed = true;
            for declarations in inventory::iter::<Declarations> {
                for declaration in declarations.0 {
                    self.of_declaration(declaration);
                }
            }
        }
    }
}

/// Every class, by name and place: all that are declared, used or not, and every one that has been used.
pub(crate) fn all() -> Vec<&'static LockClass> {
    let _inside = Inside::enter();
    let mut table = table();
    table.enrol_declarations();
    let mut classes = table.classes.clone();
    drop(table);
    classes.sort_by_key(|class| (class.name(), class.declared_at()));
    classes
}

/// Settings have changed, or how the clock is read: every class finds out what that means for it.
pub(crate) fn apply_settings() {
    let _inside = Inside::enter();
    let classes = table().classes.clone();
    // A class that is enrolled meanwhile has found them as they are.
    for class in classes {
        class.apply_settings();
    }
}

/// The class that is declared so.
pub(crate) fn of_declaration(declaration: &Declaration) -> &'static LockClass {
    let known = declaration.class.get().copied();
    known.unwrap_or_else(|| table().of_declaration(declaration))
}

/// The class that has this name; a new one is declared at `location`.
pub(crate) fn of_name(
    name: &str,
    kind: LockKind,
    location: &'static Location<'static>,
) -> &'static LockClass {
    let _inside = Inside::enter();
    table().of_name(name, kind, location)
}

/// The class of the locks that are created at `location`.
#[inline]
pub(crate) fn of_site(location: &'static Location<'static>, kind: LockKind) -> &'static LockClass {
    if settings::tells_makers()
        && let Some(class) = of_maker(location, kind)
    {
        return class;
    }
    // Locations lie 24 bytes apart.
    let recent = &RECENT[ptr::from_ref(location).addr() / 8 % RECENT.len()];
    // SAFETY: null, or a leaked site, stored below. Acquire: pairs with that store.
    let found = unsafe { recent.load(Ordering::Acquire).as_ref() };
    if let Some(site) = found
        && ptr::eq(site.location, location)
    {
        return site.class;
    }
    look_up(location, kind, recent)
}

/// The class of the locks that are made at `location` and first used at the same line outside of that file.
#[cold]
#[inline(never)]
fn of_maker(location: &'static Location<'static>, kind: LockKind) -> Option<&'static LockClass> {
    let of_line = look_up(location, kind, &AtomicPtr::new(ptr::null_mut()));
    // One that is declared has its name already.
    let is_plain = of_line.declared_at() == location && place::declared(location).is_none();
    let user = makers::first_outside(location).filter(|_| is_plain)?;
    Some(of_name(
        &format!("{} from {user}", of_line.name()),
        kind,
        location,
    ))
}

#[cold]
#[inline(never)]
fn look_up(
    location: &'static Location<'static>,
    kind: LockKind,
    recent: &AtomicPtr<CreationSite>,
) -> &'static LockClass {
    let site = table().of_site(location, kind);
    recent.store(ptr::from_ref(site).cast_mut(), Ordering::Release);
    site.class
}
