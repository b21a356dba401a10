module millrace/peer

go 1.19
