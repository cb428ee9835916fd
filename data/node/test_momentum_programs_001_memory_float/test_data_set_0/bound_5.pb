B
V_new_keptJ Щ╢Вv─>#ADGИi>│∙ЧI╒╗▌>я&ец1а┘>