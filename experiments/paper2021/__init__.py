"""The five experiments of Grzech et al. 2021 and its runtime table, each by one command."""
