package wire

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"sync"
)

// RecordVariable names the environment variable with the file that requests and answers of Query and JSON services are
// appended to, a line of JSON each. Unset, nothing is written down.
const RecordVariable = "JOINER_RECORD_EXCHANGES"

// Exchange is one request and its answer as they went over the wire.
type Exchange struct {
	Service  string // as in the credential scope
	Action   string
	Request  string // form or JSON document
	Status   int
	Response string // XML or JSON document
}

var record = sync.OnceValue(func() *os.File {
	path := os.Getenv(RecordVariable)
	if path == "" {
		return nil
	}
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		panic(err) // whoever set the variable wants a record
	}
	return file
})

// services by what marks their requests: the namespace of their answers, or the prefix of their targets.
var services = map[string]string{
	"http://ec2.amazonaws.com/doc/2016-11-15/": "ec2", "https://iam.amazonaws.com/doc/2010-05-08/": "iam", "https://sts.amazonaws.com/doc/2011-06-15/": "sts",
	"AmazonSSM": "ssm", "AmazonSQS": "sqs", "DynamoDB_20120810": "dynamodb", "AWSPriceListService": "pricing",
}

// recorder passes an answer on and keeps it.
type recorder struct {
	http.ResponseWriter
	exchange Exchange
	body     bytes.Buffer
}

// recorded returns the writer to answer on, and what to call when that is done.
func recorded(w http.ResponseWriter, mark, action, request string) (http.ResponseWriter, func()) {
	file, service := record(), services[mark]
	if file == nil || service == "" {
		return w, func() {}
	}
	r := &recorder{ResponseWriter: w, exchange: Exchange{Service: service, Action: action, Request: request, Status: http.StatusOK}}
	return r, func() {
		r.exchange.Response = r.body.String()
		line, err := json.Marshal(r.exchange)
		if err == nil {
			_, err = file.WriteString(string(line) + "\n") // one write: lines of several processes do not mix
		}
		if err != nil {
			panic(err)
		}
	}
}

func (r *recorder) WriteHeader(status int) {
	r.exchange.Status = status
	r.ResponseWriter.WriteHeader(status)
}

func (r *recorder) Write(p []byte) (int, error) {
	r.body.Write(p)
	return r.ResponseWriter.Write(p)
}

// NoteError implements ErrorNoter for whoever is behind.
func (r *recorder) NoteError(code string) {
	if n, ok := r.ResponseWriter.(ErrorNoter); ok {
		n.NoteError(code)
	}
}
