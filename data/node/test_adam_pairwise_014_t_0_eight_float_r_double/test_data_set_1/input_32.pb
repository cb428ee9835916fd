BH7J
èlT