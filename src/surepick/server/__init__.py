"""The service: studies over HTTP, for remote workers, and a page to watch them."""
