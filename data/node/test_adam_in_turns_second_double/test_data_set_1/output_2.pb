BH_newJ Ü
"÷Sl@áreCÌµğ?àpË«|Aâ?oxƒ	àÃ?