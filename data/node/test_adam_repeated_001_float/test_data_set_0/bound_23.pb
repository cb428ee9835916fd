BH2_new_H_secondJ #Ñp–š>
ÆOm—>eˆ%˜5‚>*XêLÍ¤>