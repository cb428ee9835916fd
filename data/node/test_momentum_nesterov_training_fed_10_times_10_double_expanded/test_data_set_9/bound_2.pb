BV_newJu(£o%Ûø<`ƒsÖÕÈó<kqxe
=