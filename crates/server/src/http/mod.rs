//! HTTP: routes, handlers and middleware.
//!
//! | file | contents |
//! |---|---|
//! | `routes` | route table and OpenAPI document |
//! | `operations`, `databases`, `blocks`, `checkpoints`, `query`, `clients`, `psi` | handlers |
//! | `problem` | errors as status and problem details |
//! | `info` | JSON descriptions of databases |
//! | `kept_part` | responses with parts that clients keep, and `ETag` |
//! | `short_query` | queries of registered clients without envelopes |
//! | `headers`, `body` | parsing of headers and request bodies |
//! | `page` | the page for lookups in a browser |
//! | `request_id`, `cors` | middleware: request ids; other web origins |
//! | `guard` | middleware: tokens and per-client limits |
//! | `authorization`, `forwarded` | permissions of a request; the client behind a proxy |
//! | `private_tokens` | requests that cost a private token, and how it is spent |
//! | `connection`, `tracked_body` | HTTP on one connection |
//! | `sliced_body` | bodies of slices of shared bytes |
//! | `oblivious` | the gateway of Oblivious HTTP |
//! | `sealed_head`, `sealed_body` | heads and bodies within its messages |
//! | `unread` | memory of responses that their clients have not read |

mod authorization;
mod blocks;
mod body;
mod checkpoints;
mod clients;
mod connection;
mod cors;
mod databases;
mod forwarded;
mod guard;
mod headers;
mod info;
mod kept_part;
mod oblivious;
mod operations;
mod page;
mod private_tokens;
mod problem;
mod psi;
mod query;
mod request_id;
mod routes;
mod sealed_body;
mod sealed_head;
mod short_query;
mod sliced_body;
mod tracked_body;
mod unread;

use std::sync::Arc;

use axum::middleware::from_fn_with_state;
use axum::{Extension, Router};

use crate::service::App;
pub(crate) use authorization::bearer;
pub(crate) use body::{DRAIN_TIME, drain, drain_unread};
pub(crate) use connection::Http;
pub(crate) use cors::PREFLIGHT_AGE;
use oblivious::InnerRouter;
use problem::Problem;
pub(crate) use problem::problem_details;
use request_id::Identify;
use routes::Routes;

/// All routes of a service.
pub(crate) fn router(app: &Arc<App>) -> Router {
    let routes = blocks::routes(databases::routes(Routes::new()));
    let mut routes = query::routes(checkpoints::routes(routes));
    routes = operations::routes(routes, app.show_metrics);
    if app.psi.is_some() {
        routes = psi::routes(routes);
    }

    if app.gateway.is_some() {
        routes = oblivious::routes(routes);
    }

    let identify = Identify::new(app);
    let mut router = guard::documented(clients::routes(routes))
        .finish()
        .fallback(|| async { Problem::UnknownRoute })
        .method_not_allowed_fallback(|| async { Problem::WrongMethod })
        .layer(from_fn_with_state(Arc::clone(app), guard::check));

    // An opened request is guarded, counted and logged like a request that was not sealed.
    if app.gateway.is_some() {
        let inner = router
            .clone()
            .layer(from_fn_with_state(identify.clone(), request_id::identify))
            .with_state(Arc::clone(app));
        router = router.layer(Extension(InnerRouter(inner)));
    }

    // Outside the guard: the page asks for the token.
    if app.page.is_some() {
        router = router.merge(page::routes());
    }
    // Outside the guard: browsers send no token with a preflight request, and pages must be able to
    // read refusals.
    if let Some(cors) = cors::layer(&app.guard.origins) {
        router = router.layer(cors);
    }

    // Outermost: refusals and preflight requests have ids, too.
    router
        .layer(from_fn_with_state(identify, request_id::identify))
        .with_state(Arc::clone(app))
}
