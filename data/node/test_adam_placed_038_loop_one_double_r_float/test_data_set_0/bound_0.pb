B
X_new_sameJ0<ÔL#”¿X>–4tÈ¨q>+ŠŒP/3a>±l’Ó`>þs‘]>p>GvÝ )X>