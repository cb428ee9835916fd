BH_newJ ½W
μMΒ@:C³φοί?no6^‡²@B1σR@