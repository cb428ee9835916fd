BH2_new_state_secondJ #Ñp–š>
ÆOm—>eˆ%˜5‚>*XêLÍ¤>