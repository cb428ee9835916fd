B
V_new_castJ Щ╢Вv─>#ADGИi>│∙ЧI╒╗▌>я&ец1а┘>