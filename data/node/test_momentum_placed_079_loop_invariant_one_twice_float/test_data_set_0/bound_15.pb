BV2_new_twin_negativeJ0ΜΌω‚>Cά~σr“>.οE΅νS><QΩ…›>φ³ƒώσJ¤>
°Σ3³Ξ¦>