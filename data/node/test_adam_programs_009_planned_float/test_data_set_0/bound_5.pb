BH_new_shared_plainJ ¢vQ8
…™>¶ExF¤>CÑDJ.€>]Á‘Åœ¢ª>