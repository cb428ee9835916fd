BH_newJ zn*æã°‚=\EC¡ˆ„=).ôäðmr=e„ñæ
‰=