//! `#[lock(...)]` on statements: which there are, and how to remove them.

use syn::visit_mut::{self, VisitMut};
use syn::{Attribute, Block, Expr, ExprAssign, ExprBinary, ExprCast, Item, Stmt};

/// The attributes of a statement.
pub(crate) fn attributes(stmt: &Stmt) -> &[Attribute] {
    match stmt {
        Stmt::Local(local) => &local.attrs,
        Stmt::Macro(invocation) => &invocation.attrs,
        Stmt::Expr(expr, _) => of_expression(expr).map_or(&[], Vec::as_slice),
        Stmt::Item(_) => &[],
    }
}

/// Takes our attributes off the statements of a body; returns what they were.
pub(crate) fn take(body: &mut Block) -> Vec<Attribute> {
    let mut taker = Taker(Vec::new());
    taker.visit_block_mut(body);
    taker.0
}

struct Taker(Vec<Attribute>);

impl VisitMut for Taker {
    fn visit_stmt_mut(&mut self, stmt: &mut Stmt) {
        let attrs = match stmt {
            Stmt::Local(local) => Some(&mut local.attrs),
            Stmt::Macro(invocation) => Some(&mut invocation.attrs),
            Stmt::Expr(expr, _) => of_expression_mut(expr),
            Stmt::Item(_) => None,
        };
        if let Some(attrs) = attrs {
            self.0
                .extend(attrs.extract_if(.., |attribute| attribute.path().is_ident("lock")));
        }
        visit_mut::visit_stmt_mut(self, stmt);
    }

    /// Items in a body, but for functions, have fields with our attributes.
    fn visit_item_mut(&mut self, item: &mut Item) {
        if let Item::Fn(function) = item {
            self.visit_block_mut(&mut function.block);
        }
    }
}

macro_rules! shared {
    ($expr:ident) => {
        &$expr.attrs
    };
}

macro_rules! exclusive {
    ($expr:ident) => {
        &mut $expr.attrs
    };
}

/// The field `attrs` of whatever expression it is; of a statement, that of its leftmost operand.
macro_rules! of_expression {
    (@ $name:ident, $Expr:ty, $Attrs:ty, $attrs:ident, $($Kind:ident)*) => {
        fn $name(expr: $Expr) -> Option<$Attrs> {
            match expr {
                Expr::Assign(ExprAssign { left, .. }) | Expr::Binary(ExprBinary { left, .. }) => {
                    $name(left)
                }
                Expr::Cast(ExprCast { expr, .. }) => $name(expr),
                $(Expr::$Kind(expr) => Some($attrs!(expr)),)*
                _ => None,
            }
        }
    };
    ($($head:tt)*) => {
        of_expression! {
            @ $($head)*,
            Array Async Await Block Break Call Closure Const Continue Field ForLoop Group If Index
            Infer Let Lit Loop Macro Match MethodCall Paren Path Range RawAddr Reference Repeat
            Return Struct Try TryBlock Tuple Unary Unsafe While Yield
        }
    };
}

of_expression!(of_expression, &Expr, &Vec<Attribute>, shared);
of_expression!(of_expression_mut, &mut Expr, &mut Vec<Attribute>, exclusive);
