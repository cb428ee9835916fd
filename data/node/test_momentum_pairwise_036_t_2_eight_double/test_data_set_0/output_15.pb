BV8_newJ80ָwסֱL^'AWBAוWÜ+Ar7ש£‹>A׀”^זנwFA­¿d¶4ֱ€
n-¥Pע@