// Package work is what every flow does alike: effects under the eyes of whoever tests them, and like things side by side.
package work
