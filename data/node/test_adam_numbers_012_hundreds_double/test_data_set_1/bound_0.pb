BX_newJ íYô:B…
üÐ¯Ë7Bû=7lZ9BDŠÌ3B