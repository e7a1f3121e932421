//! The project itself: what it is built with, and what of it is public.

mod dependencies;
mod public_api;
