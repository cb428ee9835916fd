B
V_new_sameJ Щ╢Вv─>#ADGИi>│∙ЧI╒╗▌>я&ец1а┘>