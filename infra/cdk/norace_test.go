//go:build !race

package main

const racing = false // the race detector is off
