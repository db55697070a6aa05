// Package ssmswitch reads parameters of SSM Parameter Store, such as the stop switch that people turn in the console.
package ssmswitch
