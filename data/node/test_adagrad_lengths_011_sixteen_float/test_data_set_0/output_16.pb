BH1_newJ8
r?üÀ#@