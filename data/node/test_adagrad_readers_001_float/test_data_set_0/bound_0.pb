B
X_new_noneJ0’R"‚щ”>л·GѕhќЎ>wќ(п"”>snЁ~+њ>юOЁ:jДg>‘йсd»о†>