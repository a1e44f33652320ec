"""Around another algorithm: what is measured besides what it asks for."""
