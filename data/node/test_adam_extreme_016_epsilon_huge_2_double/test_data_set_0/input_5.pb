BHJ xµתJ™וש?t¡X*7@RWּN–‏?BF®
׀ש@