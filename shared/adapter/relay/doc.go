// Package relay has the API server of a cluster asked through a queue, where functions cannot reach it.
//
// For functions, [Relay] makes an http.RoundTripper that puts each request into the cluster's queue and looks for its
// answer. For the watcher, [Inbox] receives the requests, and [Answers] stores what became of them:
//
//	C#<cluster>#R#<first digit of the id>   ANSWER#<id>   digest, taken, answer or object, ttl
//	s3://<bucket>/relay/<cluster>/<id>/<digest>           answers that would make an item large
//
// An answer is sealed with a key that only the queue's message holds, so that neither the table with its backups nor
// the bucket tells what is in the cluster, and so that nobody who may write to them can answer in the watcher's stead.
// A request keeps its id for as long as it is one: only what reads is asked a second time. Which requests are carried
// out, and with what permissions, is decided by flow/execute.
//
//	transport := relay.New(config, table, bucket).Through(rights, registration)
package relay
