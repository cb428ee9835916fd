B
V_new_flatJ Щ╢Вv─>#ADGИi>│∙ЧI╒╗▌>я&ец1а┘>