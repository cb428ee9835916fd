BV_new_ifJ0")Mf‚O„>UJèÌOˆ>¸x”†>ïØnù+s>9YC`æl>D}…Žú
q>