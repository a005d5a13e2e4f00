"""The hands: a Pod's containers start and stop here."""
