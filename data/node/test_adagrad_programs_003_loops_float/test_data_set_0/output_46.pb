B
H_now_readJ7iAXÚv@pA5>Û@