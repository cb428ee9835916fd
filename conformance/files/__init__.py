"""Files opened only where they are regular and written whole or not at all; folders that go with whoever made them."""
