BH3_newJMªN&QRæ<Cémã
ì<¨ù5È§yÒ<