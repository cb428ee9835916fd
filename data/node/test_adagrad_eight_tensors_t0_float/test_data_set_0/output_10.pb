BH3_newJSŸC@äZ
@9»@