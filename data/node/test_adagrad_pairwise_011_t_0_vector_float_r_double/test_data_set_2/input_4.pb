BHJ‹¢
Te¼„Tÿú8TÏYOTÑªS_ømS83eT