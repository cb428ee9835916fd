BH_newJ*å
)Š£>