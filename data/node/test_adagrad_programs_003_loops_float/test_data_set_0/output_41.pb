B
H_now_keptJ7iAXÚv@pA5>Û@