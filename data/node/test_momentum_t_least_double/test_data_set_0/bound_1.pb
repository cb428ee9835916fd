BV_newJ ;§lK×
Ø<K€ß°Õ<ô™·h.lÇ<+TäC¡Ñ<