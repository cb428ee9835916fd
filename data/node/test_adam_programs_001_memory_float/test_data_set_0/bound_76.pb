B
X_second_XJ ®%TB²>Ù6ap| >(‚85â]¡>æ:v*ë£>