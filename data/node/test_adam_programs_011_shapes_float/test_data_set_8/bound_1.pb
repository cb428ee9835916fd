BX_new_shapes_2J(,=jk²±>Pγ
mi·>Μ%›ν0Β›>ιοvowL>Γ4Ρ!l£>