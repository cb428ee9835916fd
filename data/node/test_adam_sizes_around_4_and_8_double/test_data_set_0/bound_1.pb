BX2_newJ ä¡íÃ:>qŒwf¬ˆN>ir©
Å¤1>eAqK­O>