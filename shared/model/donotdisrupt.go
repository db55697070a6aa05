package model

import "time"

// DoNotDisrupt is what a pod's annotation karpenter.sh/do-not-disrupt says.
type DoNotDisrupt struct {
	Says      bool  // it shields the pod, or did
	Always    bool  // for good
	UntilUnix int64 // when it ends, by the clock of the pod's start; 0 = it does not, or the pod has not started
	Invalid   bool  // it is neither true nor a positive duration, and says nothing
}

// Active reports whether the pod is shielded at nowUnix.
func (s DoNotDisrupt) Active(nowUnix int64) bool {
	return s.Says && (s.UntilUnix == 0 || nowUnix < s.UntilUnix)
}

// ReadDoNotDisrupt reads the annotation of a pod that started then (0 = it has not): "true" shields it for good, a positive
// duration for as long after its start, and as long as it has not started.
func ReadDoNotDisrupt(annotation string, startedUnix int64) DoNotDisrupt {
	switch annotation {
	case "":
		return DoNotDisrupt{}
	case "true":
		return DoNotDisrupt{Says: true, Always: true}
	}
	d, err := time.ParseDuration(annotation)
	switch {
	case err != nil || d <= 0:
		return DoNotDisrupt{Invalid: true}
	case startedUnix <= 0:
		return DoNotDisrupt{Says: true}
	}
	return DoNotDisrupt{Says: true, UntilUnix: startedUnix + int64((d+time.Second-1)/time.Second)}
}
