BH40_newJáQ+
î:¢>ßÒaD±•>