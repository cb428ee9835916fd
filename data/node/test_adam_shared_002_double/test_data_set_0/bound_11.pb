BH_new_XV_zeroJ ÅT°É‘<naÄÑ&∫<4Ü°ÏP¿<£ò·mi
·<